-- TPC-H Q9, and the ids of the base rows collected by hand.
select
  nation,
  o_year,
  sum(amount) as sum_profit,
  collect_set(part_id) as part_ids,
  collect_set(supplier_id) as supplier_ids,
  collect_set(lineitem_id) as lineitem_ids,
  collect_set(partsupp_id) as partsupp_ids,
  collect_set(orders_id) as orders_ids,
  collect_set(nation_id) as nation_ids
from
  (
    select
      n_name as nation,
      extract(year from o_orderdate) as o_year,
      l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity as amount,
      part_id,
      supplier_id,
      lineitem_id,
      partsupp_id,
      orders_id,
      nation_id
    from
      part,
      supplier,
      lineitem,
      partsupp,
      orders,
      nation
    where
      s_suppkey = l_suppkey
      and ps_suppkey = l_suppkey
      and ps_partkey = l_partkey
      and p_partkey = l_partkey
      and o_orderkey = l_orderkey
      and s_nationkey = n_nationkey
      and p_name like '%green%'
  ) as profit
group by
  nation,
  o_year
order by
  nation,
  o_year desc

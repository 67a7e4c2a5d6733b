-- TPC-H Q8, and the ids of the base rows collected by hand.
select
  o_year,
  sum(case
    when nation = 'BRAZIL' then volume
    else 0
  end) / sum(volume) as mkt_share,
  collect_set(part_id) as part_ids,
  collect_set(supplier_id) as supplier_ids,
  collect_set(lineitem_id) as lineitem_ids,
  collect_set(orders_id) as orders_ids,
  collect_set(customer_id) as customer_ids,
  array_union(collect_set(n1_id), collect_set(n2_id)) as nation_ids,
  collect_set(region_id) as region_ids
from
  (
    select
      extract(year from o_orderdate) as o_year,
      l_extendedprice * (1 - l_discount) as volume,
      n2.n_name as nation,
      part_id,
      supplier_id,
      lineitem_id,
      orders_id,
      customer_id,
      n1.nation_id as n1_id,
      n2.nation_id as n2_id,
      region_id
    from
      part,
      supplier,
      lineitem,
      orders,
      customer,
      nation n1,
      nation n2,
      region
    where
      p_partkey = l_partkey
      and s_suppkey = l_suppkey
      and l_orderkey = o_orderkey
      and o_custkey = c_custkey
      and c_nationkey = n1.n_nationkey
      and n1.n_regionkey = r_regionkey
      and r_name = 'AMERICA'
      and s_nationkey = n2.n_nationkey
      and o_orderdate between date '1995-01-01' and date '1996-12-31'
      and p_type = 'ECONOMY ANODIZED STEEL'
  ) as all_nations
group by
  o_year
order by
  o_year

-- TPC-H Q7, and the ids of the base rows collected by hand.
select
  supp_nation,
  cust_nation,
  l_year,
  sum(volume) as revenue,
  collect_set(supplier_id) as supplier_ids,
  collect_set(lineitem_id) as lineitem_ids,
  collect_set(orders_id) as orders_ids,
  collect_set(customer_id) as customer_ids,
  array_union(collect_set(n1_id), collect_set(n2_id)) as nation_ids
from
  (
    select
      n1.n_name as supp_nation,
      n2.n_name as cust_nation,
      extract(year from l_shipdate) as l_year,
      l_extendedprice * (1 - l_discount) as volume,
      supplier_id,
      lineitem_id,
      orders_id,
      customer_id,
      n1.nation_id as n1_id,
      n2.nation_id as n2_id
    from
      supplier,
      lineitem,
      orders,
      customer,
      nation n1,
      nation n2
    where
      s_suppkey = l_suppkey
      and o_orderkey = l_orderkey
      and c_custkey = o_custkey
      and s_nationkey = n1.n_nationkey
      and c_nationkey = n2.n_nationkey
      and (
        (n1.n_name = 'FRANCE' and n2.n_name = 'GERMANY')
        or (n1.n_name = 'GERMANY' and n2.n_name = 'FRANCE')
      )
      and l_shipdate between date '1995-01-01' and date '1996-12-31'
  ) as shipping
group by
  supp_nation,
  cust_nation,
  l_year
order by
  supp_nation,
  cust_nation,
  l_year

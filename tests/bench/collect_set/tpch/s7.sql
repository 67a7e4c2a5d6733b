-- Zhang 2007, appendix A, S7, and the ids of the base rows collected by hand.
select
  c_name,
  n2.n_name as cust_nation,
  o_orderdate,
  l_shipdate,
  p_name,
  p_brand,
  p_type,
  s_name,
  n1.n_name as supp_nation,
  ps_supplycost,
  customer_id,
  part_id,
  partsupp_id,
  supplier_id,
  lineitem_id,
  orders_id,
  array(n1.nation_id, n2.nation_id) as nation_ids
from
  customer,
  part,
  partsupp,
  supplier,
  lineitem,
  orders,
  nation n1,
  nation n2
where
  p_partkey = ps_partkey
  and ps_suppkey = s_suppkey
  and l_partkey = ps_partkey
  and l_suppkey = ps_suppkey
  and o_orderkey = l_orderkey
  and c_custkey = o_custkey
  and s_nationkey = n1.n_nationkey
  and c_nationkey = n2.n_nationkey
  and o_orderdate >= date '1994-01-01'
  and o_orderdate <= date '1994-01-01' + interval '3 day'

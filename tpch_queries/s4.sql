-- Zhang 2007, appendix A, S4 (reconstructed, see README.md): five tables.
select
  c_name,
  o_orderdate,
  l_shipdate,
  p_name,
  p_brand,
  p_type,
  ps_supplycost
from
  customer,
  part,
  partsupp,
  lineitem,
  orders
where
  p_partkey = ps_partkey
  and l_partkey = ps_partkey
  and l_suppkey = ps_suppkey
  and o_orderkey = l_orderkey
  and c_custkey = o_custkey
  and o_orderdate >= date '1994-01-01'
  and o_orderdate <= date '1994-01-01' + interval '3 day'

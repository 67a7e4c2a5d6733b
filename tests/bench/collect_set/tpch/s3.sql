-- Zhang 2007, appendix A, S3, and the ids of the base rows collected by hand.
select
  c_name,
  o_orderdate,
  l_shipdate,
  p_name,
  p_brand,
  p_type,
  customer_id,
  part_id,
  lineitem_id,
  orders_id
from
  customer,
  part,
  lineitem,
  orders
where
  p_partkey = l_partkey
  and o_orderkey = l_orderkey
  and c_custkey = o_custkey
  and o_orderdate >= date '1994-01-01'
  and o_orderdate <= date '1994-01-01' + interval '3 day'

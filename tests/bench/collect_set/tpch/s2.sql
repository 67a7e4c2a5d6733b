-- Zhang 2007, appendix A, S2, and the ids of the base rows collected by hand.
select
  c_name,
  o_orderdate,
  l_shipdate,
  customer_id,
  lineitem_id,
  orders_id
from
  customer,
  lineitem,
  orders
where
  o_orderkey = l_orderkey
  and c_custkey = o_custkey
  and o_orderdate >= date '1994-01-01'
  and o_orderdate <= date '1994-01-01' + interval '3 day'

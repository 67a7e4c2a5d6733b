-- Zhang 2007, appendix A, S1, and the ids of the base rows collected by hand.
select
  o_orderdate,
  o_totalprice,
  l_quantity,
  l_shipdate,
  lineitem_id,
  orders_id
from
  lineitem,
  orders
where
  o_orderkey = l_orderkey
  and o_orderdate >= date '1994-01-01'
  and o_orderdate <= date '1994-01-01' + interval '3 day'

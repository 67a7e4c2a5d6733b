-- TPC-H Q4, and the ids of the base rows collected by hand.
select
  o_orderpriority,
  count(*) as order_count,
  collect_set(orders_id) as orders_ids
from
  orders
where
  o_orderdate >= date '1993-07-01'
  and o_orderdate < date '1993-07-01' + interval '3' month
  and exists (
    select
      *
    from
      lineitem
    where
      l_orderkey = o_orderkey
      and l_commitdate < l_receiptdate
  )
group by
  o_orderpriority
order by
  o_orderpriority

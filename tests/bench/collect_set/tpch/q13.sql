-- TPC-H Q13, and the ids of the base rows collected by hand.
select
  c_count,
  count(*) as custdist,
  collect_set(customer_id) as customer_ids,
  flatten(collect_list(orders_ids)) as orders_ids
from
  (
    select
      c_custkey,
      count(o_orderkey),
      first(customer_id),
      collect_set(orders_id)
    from
      customer left outer join orders on
        c_custkey = o_custkey
        and o_comment not like '%special%requests%'
    group by
      c_custkey
  ) as c_orders (c_custkey, c_count, customer_id, orders_ids)
group by
  c_count
order by
  custdist desc,
  c_count desc

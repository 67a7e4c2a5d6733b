-- TPC-H Q17, and the ids of the base rows collected by hand.
select
  sum(l_extendedprice) / 7.0 as avg_yearly,
  collect_set(lineitem_id) as lineitem_ids,
  collect_set(part_id) as part_ids
from
  lineitem,
  part
where
  p_partkey = l_partkey
  and p_brand = 'Brand#23'
  and p_container = 'MED BOX'
  and l_quantity < (
    select
      0.2 * avg(l_quantity)
    from
      lineitem
    where
      l_partkey = p_partkey
  )

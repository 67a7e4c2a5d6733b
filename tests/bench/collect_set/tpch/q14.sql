-- TPC-H Q14, and the ids of the base rows collected by hand.
select
  100.00 * sum(case
    when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount)
    else 0
  end) / sum(l_extendedprice * (1 - l_discount)) as promo_revenue,
  collect_set(lineitem_id) as lineitem_ids,
  collect_set(part_id) as part_ids
from
  lineitem,
  part
where
  l_partkey = p_partkey
  and l_shipdate >= date '1995-09-01'
  and l_shipdate < date '1995-09-01' + interval '1' month

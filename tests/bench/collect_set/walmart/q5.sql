-- Zhang 2007, appendix B, Q5, and the ids of the base rows collected by hand.
select
  sum(item_quantity),
  collect_set(item_scan_id) as item_scan_ids
from
  item_scan
group by
  store_nbr

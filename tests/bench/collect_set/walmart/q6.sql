-- Zhang 2007, appendix B, Q6, and the ids of the base rows collected by hand.
select
  sum(item.total_scan_amount),
  collect_set(item_scan_id) as item_scan_ids,
  collect_set(store_information_id) as store_information_ids
from
  item_scan item,
  store_information info
where
  item.store_nbr = info.store_nbr
group by
  info.city

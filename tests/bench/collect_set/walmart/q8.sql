-- Zhang 2007, appendix B, Q8, and the ids of the base rows collected by hand.
select
  info.state,
  sum(item.total_scan_amount),
  collect_set(item_scan_id) as item_scan_ids,
  collect_set(item_description_id) as item_description_ids,
  collect_set(store_information_id) as store_information_ids
from
  item_scan item,
  item_description item_desc,
  store_information info
where
  item.item_nbr = item_desc.item_nbr
  and item.store_nbr = info.store_nbr
group by
  info.state,
  item_desc.category_nbr
having
  sum(item.total_scan_amount) > 3000

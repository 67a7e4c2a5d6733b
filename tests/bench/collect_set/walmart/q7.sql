-- Zhang 2007, appendix B, Q7, and the ids of the base rows collected by hand.
select
  item.store_nbr,
  sum(item.total_scan_amount),
  collect_set(item_scan_id) as item_scan_ids,
  collect_set(item_description_id) as item_description_ids
from
  item_scan item,
  item_description item_desc
where
  item.item_nbr = item_desc.item_nbr
group by
  item.store_nbr,
  item_desc.category_nbr
having
  sum(item.total_scan_amount) > 3000

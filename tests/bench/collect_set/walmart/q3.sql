-- Zhang 2007, appendix B, Q3, and the ids of the base rows collected by hand.
select
  visit.visit_nbr,
  item_desc.primary_desc,
  item.total_scan_amount,
  item_scan_id,
  store_visits_id,
  item_description_id
from
  item_scan item,
  store_visits visit,
  item_description item_desc
where
  visit.visit_nbr = item.visit_nbr
  and item.item_nbr = item_desc.item_nbr
  and visit.store_nbr = 126

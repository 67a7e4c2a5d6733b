-- Zhang 2007, appendix B, Q2, and the ids of the base rows collected by hand.
select
  visit.visit_nbr,
  item.item_nbr,
  item.total_scan_amount,
  item_scan_id,
  store_visits_id
from
  item_scan item,
  store_visits visit
where
  visit.visit_nbr = item.visit_nbr
  and visit.store_nbr = 126

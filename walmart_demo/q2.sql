-- Zhang 2007, appendix B, Q2: what store 126 sold, by visit. One join.
select
  visit.visit_nbr,
  item.item_nbr,
  item.total_scan_amount
from
  item_scan item,
  store_visits visit
where
  visit.visit_nbr = item.visit_nbr
  and visit.store_nbr = 126

-- Zhang 2007, appendix B, Q3: the receipts of store 126. Two joins.
select
  visit.visit_nbr,
  item_desc.primary_desc,
  item.total_scan_amount
from
  item_scan item,
  store_visits visit,
  item_description item_desc
where
  visit.visit_nbr = item.visit_nbr
  and item.item_nbr = item_desc.item_nbr
  and visit.store_nbr = 126

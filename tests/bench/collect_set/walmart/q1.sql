-- Zhang 2007, appendix B, Q1, and the ids of the base rows collected by hand.
select
  item.store_nbr,
  item.item_nbr,
  item.total_scan_amount,
  item_scan_id
from
  item_scan item
where
  item.store_nbr = 126

-- Zhang 2007, appendix B, Q1: what store 126 sold. No join.
select
  item.store_nbr,
  item.item_nbr,
  item.total_scan_amount
from
  item_scan item
where
  item.store_nbr = 126

-- Zhang 2007, appendix B, Q5: items sold by each store. No join.
select
  sum(item_quantity)
from
  item_scan
group by
  store_nbr

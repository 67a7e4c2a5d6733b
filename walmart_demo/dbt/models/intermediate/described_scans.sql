select s.store_nbr, i.category_nbr, s.item_quantity, s.total_scan_amount
from {{ ref('scans') }} as s
join {{ ref('items') }} as i on s.item_nbr = i.item_nbr

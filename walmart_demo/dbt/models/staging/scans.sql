select s.visit_nbr, s.store_nbr, s.item_nbr, s.item_quantity, s.total_scan_amount, v.transaction_time
from {{ source('walmart', 'item_scan') }} as s
join {{ source('walmart', 'store_visits') }} as v on s.visit_nbr = v.visit_nbr

select store_nbr, category_nbr, sum(item_quantity) as items, sum(total_scan_amount) as amount
from {{ ref('described_scans') }}
group by store_nbr, category_nbr

select item_nbr, category_nbr, primary_desc
from {{ source('walmart', 'item_description') }}

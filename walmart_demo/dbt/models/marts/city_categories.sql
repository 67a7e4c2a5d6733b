select p.city, c.category_nbr, sum(c.items) as items, sum(c.amount) as amount
from {{ ref('store_categories') }} as c
join {{ source('walmart', 'store_information') }} as p on c.store_nbr = p.store_nbr
group by p.city, c.category_nbr

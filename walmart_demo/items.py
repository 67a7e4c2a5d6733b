"""The items a store can sell: numbers, categories, prices, popularity; and the one record that is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CATEGORIES = (
    *("Candy", "Personal Care", "Stationery", "Paper Goods", "Media", "Cameras", "Toys", "Pets", "Sporting Goods"),
    *("Automotive", "Hardware", "Paint", "Household Chemicals", "Kitchenware", "Small Appliances", "Lawn and Garden"),
    *("Horticulture", "Home Decor", "Bedding", "Bath", "Menswear", "Ladieswear", "Girlswear", "Boyswear", "Infants"),
    *("Shoes", "Jewelry", "Fabrics", "Pharmacy", "Optical", "Dairy", "Frozen Food", "Grocery", "Bakery", "Produce"),
    "Televisions",
)
"""Category names; category_nbr is the position in this list, from 1."""

_FORMS = (
    "Basic",
    "Value Pack",
    "Family Size",
    "Deluxe",
    "Travel Size",
    "Assorted",
    "Classic",
    "Large",
    "Small",
    "Twin",
)

DESCRIBED = 6_700  # items with a record in item_description
UNDESCRIBED = 1_600  # items that are sold, but that nobody has described
_POPULARITY = 0.86  # exponent of Zipf's law over the items
_CATEGORY_SKEW = 0.23  # the same over the categories: how many items each has
_PRICE = 12.62  # median price, in dollars


@dataclass(frozen=True)
class BadRecord:
    """A record of item_description that should not be there: cashiers practise with it, and the sales were counted.

    Attributes:
        item_nbr: the item.
        primary_desc: what receipts call it.
        category_nbr: the category whose takings it swells.
        price: its price, in cents.

    """

    item_nbr: int
    primary_desc: str
    category_nbr: int
    price: int


BAD_RECORD = BadRecord(126_042, "Training Item Do Not Sell", CATEGORIES.index("Candy") + 1, 89_900)


@dataclass(frozen=True)
class Items:
    """All items but the one with the bad record; arrays of one length, described items first.

    Attributes:
        number: item_nbr, unique.
        category: category_nbr, from 1.
        price: cents.
        weight: how popular the item is, relative to the others of its kind (described or not).
        described: how many of them have a record in item_description.

    """

    number: npt.NDArray[np.int64]
    category: npt.NDArray[np.int64]
    price: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]
    described: int

    def descriptions(self) -> list[str]:
        """Return primary_desc of each described item: category, form, and a running number within both."""
        seen: dict[str, int] = {}
        found = []
        for at in range(self.described):
            name = f"{CATEGORIES[self.category[at] - 1]} {_FORMS[self.number[at] % len(_FORMS)]}"
            seen[name] = seen.get(name, 0) + 1
            found.append(f"{name} {seen[name]}")
        return found


def draw_items(random: np.random.Generator) -> Items:
    """Draw the items: Zipf's law over items, a milder one over categories, log-normal prices around the category's."""
    count = DESCRIBED + UNDESCRIBED
    free = np.setdiff1d(np.arange(100_000, 1_000_000), [BAD_RECORD.item_nbr])
    number = random.choice(free, count, replace=False)
    share = 1 / np.arange(1, len(CATEGORIES) + 1) ** _CATEGORY_SKEW
    category = random.permutation(len(CATEGORIES))[random.choice(len(CATEGORIES), count, p=share / share.sum())]
    price = _PRICE * random.lognormal(0, 0.4, len(CATEGORIES))[category] * random.lognormal(0, 0.9, count)
    weight = np.concatenate([1 / np.arange(1, kind + 1) ** _POPULARITY for kind in (DESCRIBED, UNDESCRIBED)])
    return Items(number, category + 1, np.maximum(np.rint(price * 100), 5).astype(np.int64), weight, DESCRIBED)

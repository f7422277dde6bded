"""The parameters that give each family of environments about 10³, 10⁴, 10⁵ and 10⁶ states."""

SIZES: dict[str, dict[int, dict[str, object]]] = {
    "admission": {
        10**3: {"capacity": 17},
        10**4: {"capacity": 57},
        10**5: {"capacity": 182},
        10**6: {"capacity": 577},
    },
    "cart_pole": {
        10**3: {"cart_points": 5, "pole_points": 7},
        10**4: {"cart_points": 9, "pole_points": 11},
        10**5: {"cart_points": 15, "pole_points": 22},
        10**6: {"cart_points": 29, "pole_points": 37},
    },
    "maintenance": {
        10**3: {"machines": 3, "levels": 10},
        10**4: {"machines": 4, "levels": 10},
        10**5: {"machines": 4, "levels": 18},
        10**6: {"machines": 4, "levels": 32},
    },
    "mountain_car": {
        10**3: {"size": 34},
        10**4: {"size": 112},
        10**5: {"size": 361},
        10**6: {"size": 1148},
    },
}
"""By family and number of states."""

"""The answers of the TPC-H specification at scale factor 1."""

from __future__ import annotations

# Rows at scale factor 1 without LIMIT. The specification's answer set has those of the 22 queries (Q2, Q3, Q10, Q18 and
# Q21 after its LIMIT, though); Q3, Q5–Q7, Q9–Q11 and Q15 stand in [Zhang 2007, Table 7], too.
ROWS = {
    **{"q1": 4, "q2": 460, "q3": 11_620, "q4": 5, "q5": 5, "q6": 1, "q7": 4, "q8": 2, "q9": 175, "q10": 37_967},
    **{"q11": 1_048, "q12": 2, "q13": 42, "q14": 1, "q15": 1, "q16": 18_314, "q17": 1, "q18": 57, "q19": 1},
    **{"q20": 186, "q21": 411, "q22": 7},
    **{f"s{number}": 10_360 for number in range(1, 9)},
}

# First row of each answer in the specification's answer set for scale factor 1, rounded there to two decimals.
FIRST_ROWS = {
    "q1": "A|F|37734107.00|56586554400.73|53758257134.87|55909065222.83|25.52|38273.13|0.05|1478493",
    "q2": "9938.53|Supplier#000005359|UNITED KINGDOM|185358|Manufacturer#4|QKuHYh,vZGiwu2FWEJoLDx04|33-429-790-6131|"
    "uriously regular requests hag",
    "q3": "2456423|406181.01|1995-03-05|0",
    "q4": "1-URGENT|10594",
    "q5": "INDONESIA|55502041.17",
    "q6": "123141078.23",
    "q7": "FRANCE|GERMANY|1995|54639732.73",
    "q8": "1995|0.03",
    "q9": "ALGERIA|1998|27136900.18",
    "q10": "57040|Customer#000057040|734235.25|632.87|JAPAN|Eioyzjf4pp|22-895-641-3466|"
    "sits. slyly regular requests sleep alongside of the regular inst",
    "q11": "129760|17538456.86",
    "q12": "MAIL|6202|9324",
    "q13": "0|50005",
    "q14": "16.38",
    "q15": "8449|Supplier#000008449|Wp34zim9qYFbVctdW|20-469-856-8873|1772627.21",
    "q16": "Brand#41|MEDIUM BRUSHED TIN|3|28",
    "q17": "348406.05",
    "q18": "Customer#000128120|128120|4722021|1994-04-07|544089.09|323.00",
    "q19": "3083843.06",
    "q20": "Supplier#000000020|iybAE,RmTymrZVYaFZva2SH,j",
    "q21": "Supplier#000002829|20",
    "q22": "13|888|6737713.99",
}

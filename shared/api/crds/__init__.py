"""The schemas of Quotree's own objects, as data; the chart's CRD files are generated from them."""

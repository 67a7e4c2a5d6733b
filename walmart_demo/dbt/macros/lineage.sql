{# A model whose meta says `lineage: true` is made with the lineage of its rows, DL, as its last column. #}
{% macro spark__create_table_as(temporary, relation, compiled_code, language='sql') -%}
  {%- if language == 'sql' and config.get('meta', {}).get('lineage', false) -%}
    {%- set compiled_code = compiled_code ~ '\nWITH LINEAGE' -%}
  {%- endif -%}
  {{ return(dbt.spark__create_table_as(temporary, relation, compiled_code, language)) }}
{%- endmacro %}

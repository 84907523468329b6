-- The keys of LiteLLM's PostgreSQL as `genway keys import --hashes` reads them: docs/moving.md. LiteLLM keeps the SHA-256
-- of a key, as Genway does. Left out are keys that are blocked, that have expired, that a limit of 0 blocks, and
-- the sessions of LiteLLM's own console.
COPY (
  WITH keys AS (
    SELECT k.token, k.key_alias, k.models, k.expires, t.models AS team_models,
      coalesce(t.team_alias, k.team_id, k.user_id, '') AS owner,
      coalesce(k.max_budget, b.max_budget)::numeric AS budget,
      coalesce(k.budget_duration, b.budget_duration) AS period,
      coalesce(k.rpm_limit, b.rpm_limit) AS rpm,
      coalesce(k.tpm_limit, b.tpm_limit) AS tpm,
      coalesce(k.max_parallel_requests, b.max_parallel_requests) AS concurrent
    FROM "LiteLLM_VerificationToken" k
    LEFT JOIN "LiteLLM_TeamTable" t ON t.team_id = k.team_id
    LEFT JOIN "LiteLLM_BudgetTable" b ON b.budget_id = k.budget_id
    WHERE k.token ~ '^[0-9a-f]{64}$' AND k.blocked IS NOT TRUE AND k.team_id IS DISTINCT FROM 'litellm-dashboard'
      AND (k.expires IS NULL OR k.expires > now() AT TIME ZONE 'UTC')
  ), allowed AS (
    SELECT *, CASE WHEN 'all-proxy-models' = ANY (models) THEN '{}'
      WHEN 'all-team-models' = ANY (models) THEN coalesce(team_models, '{}') ELSE models END AS may,
      CASE WHEN period IN ('1d', '24h') THEN 'day' WHEN period IN ('1mo', '30d', '31d') THEN 'month' END AS calendar
    FROM keys
  )
  SELECT token AS sha256,
    'chat,messages,generatecontent' AS "group",
    coalesce(key_alias, '') AS name,
    owner,
    array_to_string(ARRAY(SELECT replace(m, ',', '\,') FROM unnest(may) m), ',') AS models,
    coalesce(to_char(expires, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'never') AS expire_time,
    coalesce(rpm, 0) AS requests_per_minute,
    coalesce(tpm, 0) AS tokens_per_minute,
    coalesce(concurrent, 0) AS concurrent,
    CASE calendar WHEN 'day' THEN round(budget, 9)::text ELSE 'none' END AS budget_day,
    CASE calendar WHEN 'month' THEN round(budget, 9)::text ELSE 'none' END AS budget_month,
    -- A budget of another period, or of none, is left to the operator.
    CASE WHEN budget IS NOT NULL AND calendar IS NULL
      THEN 'litellm.budget=' || trim_scale(budget) || '/' || coalesce(period, 'ever') ELSE '' END AS labels
  FROM allowed
  WHERE coalesce(rpm, 1) > 0 AND coalesce(tpm, 1) > 0 AND coalesce(concurrent, 1) > 0 AND coalesce(budget, 1) > 0
  ORDER BY name, token
) TO STDOUT WITH (FORMAT csv, HEADER)

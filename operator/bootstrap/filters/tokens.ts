import type { EnvoyConfig } from "../envoy-config.ts";

const NAME = "envoy.filters.http.lua";

/** Of a token: Envoy 1.40 asks again after half of its time, with no pause at all if that is nothing. */
const MIN_SECONDS = 2;

/** A number that Envoy cannot read would be an answer without a token. */
const MAX_SECONDS = 86_400;

/**
 * Corrects what Envoy 1.40 sends and believes when it fetches tokens (xds/oauth-token.ts).
 *
 * - The metadata server wants a GET without a form, and the header that no browser can be made to send.
 * - After an answer that is no token, Envoy never asks again: with another status it does, every second. The part that it needs
 *   is written anew, so that whatever passes here can be read there.
 */
export function tokenFilter({ metadataCluster }: { metadataCluster: string }): EnvoyConfig {
  const script = `
function envoy_on_request(handle)
  if handle:headers():get(":authority") ~= "${metadataCluster}" then return end
  handle:body(true):setBytes("")
  local headers = handle:headers()
  headers:replace(":method", "GET")
  headers:replace("metadata-flavor", "Google")
  headers:remove("content-type")
end

local function usable(text)
  local token = text:match('"access_token"%s*:%s*"([!#-~]+)"')
  local seconds = tonumber(text:match('"expires_in"%s*:%s*"?(%d+)'))
  if token == nil or seconds == nil or seconds < ${MIN_SECONDS} then return nil end
  if token:gsub("\\\\/", ""):gsub("\\\\u%x%x%x%x", ""):find("\\\\", 1, true) then return nil end
  return string.format('{"access_token":"%s","expires_in":%d}', token, math.min(seconds, ${MAX_SECONDS}))
end

function envoy_on_response(handle)
  if handle:headers():get(":status") ~= "200" then return end
  local body = handle:body(true)
  local answer = usable(body:getBytes(0, body:length()))
  if answer == nil then
    handle:headers():replace(":status", "502")
  else
    body:setBytes(answer)
  end
end
`;
  return {
    name: NAME,
    // The routes below ask for it; models' requests and answers pass beside it.
    disabled: true,
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
      default_source_code: { inline_string: script.trimStart() },
    },
  };
}

/** Of a route whose requests are for tokens. */
export const tokenFilterEnabled: EnvoyConfig = {
  [NAME]: { "@type": "type.googleapis.com/envoy.config.route.v3.FilterConfig", config: {} },
};

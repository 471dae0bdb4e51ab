import type {Aggregation} from '#src/apiserver/aggregation/aggregation.js';
import type {MergedOpenApi} from '#src/apiserver/aggregation/merged-openapi.js';
import type {Discovery} from '#src/apiserver/discovery/handler.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {VersionInfo} from '#src/api/version.js';

/**
 * The OpenAPI documents of the server and of those it aggregates. The code that creates them is loaded with the first
 * of them.
 */
export const openApiDocuments = async (
  registry: Registry,
  discovery: Discovery,
  {openApi: remote}: Aggregation,
  version: VersionInfo,
): Promise<MergedOpenApi> => {
  const [{OpenApiDocuments}, {MergedOpenApi}, {mediaTypes}] = await Promise.all([
    import('#src/schema/openapi/documents.js'),
    import('#src/apiserver/aggregation/merged-openapi.js'),
    import('#src/schema/openapi/render.js'),
  ]);
  const {schemas, naming, clock, cbor, gate} = registry.settings;
  const documents = new OpenApiDocuments({
    schemas,
    naming,
    clock,
    mediaTypes: mediaTypes(naming, cbor !== undefined),
    groups: () => discovery.groups,
    version: version.gitVersion,
    enums: gate('OpenAPIEnums'),
  });
  const merged = new MergedOpenApi(documents, remote, clock);
  registry.onChange(() => {
    documents.invalidate();
    merged.forget();
  });
  return merged;
};

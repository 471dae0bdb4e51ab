import {sameJson} from '#src/api/equal.js';
import {kinds, type Kind} from '#src/api/kinds.js';
import {isAlreadyExists, isNotFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import {autoupdateKey, mandatoryObjects, suggestedObjects} from '#src/resources/flowcontrol/bootstrap.js';

interface Specified extends KubeObject {
  spec?: unknown;
}

/** Makes an object that is missing, and puts back the spec of one that follows the server's own idea of it. */
const settle = async <T extends Specified>(client: Client, kind: Kind<T>, wanted: T, isMandatory: boolean): Promise<void> => {
  const objects = client.resource(kind);
  const key = autoupdateKey(client.naming);
  let found: T;
  try {
    found = await objects.get(wanted.metadata!.name!);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await objects.create(wanted).catch((failure: unknown) => {
      if (!isAlreadyExists(failure)) throw failure;
    });
    return;
  }
  const follows = isMandatory || found.metadata?.annotations?.[key] === 'true';
  if (follows && !sameJson(found.spec, wanted.spec)) await objects.update({...found, spec: wanted.spec});
};

/** Brings up the schemas and levels that flow control begins with (KEP-1040). The levels come first: schemas refer to them. */
export const ensureFlowControl = async (client: Client): Promise<void> => {
  for (const [objects, isMandatory] of [[mandatoryObjects(client.naming), true], [suggestedObjects(client.naming), false]] as const) {
    await Promise.all(objects.levels.map(level => settle(client, kinds.priorityLevelConfigurations, level, isMandatory)));
    await Promise.all(objects.schemas.map(schema => settle(client, kinds.flowSchemas, schema, isMandatory)));
  }
};

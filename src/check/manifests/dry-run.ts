// The server's own judgement: each object is sent as a dry run, created or applied as it would be.

import type {Kind} from '#src/api/kinds/index.js';
import {isConflict, StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import {inNamespace} from '#src/client/in-namespace.js';
import type {Manifest} from '#src/check/files/manifest.js';
import type {Finding} from '#src/check/findings/finding.js';
import {refusalFindings, warningFinding} from './refusals.js';

/** What the server says to an object. */
export interface DryRun {
  readonly findings: readonly Finding[];
  /** What the server would store; undefined if it refuses. */
  readonly object?: KubeObject;
}

/** How the managers of those begin who write by hand, with whom an apply on the client's side has no conflicts. */
const ownManagers: readonly string[] = ['"kubectl', '"before-first-apply'];

/**
 * Sends an object as a dry run: as a creation if it is not there, else as an apply of the field manager. Conflicts with
 * others are findings, and do not end it.
 */
export const dryRun = async (
  manifest: Manifest,
  kind: Kind,
  {client, isThere, fieldManager}: {readonly client: Client; readonly isThere: boolean; readonly fieldManager: string},
): Promise<DryRun> => {
  const resource = client.resource(kind);
  const {object} = manifest;
  const warnings = new Set<string>();
  const options = {
    ...inNamespace(manifest.namespace),
    dryRun: true,
    fieldManager,
    fieldValidation: 'Warn',
    onWarning: (text: string) => void warnings.add(text),
  } as const;
  const name = object.metadata.name ?? '';
  const send = async (): Promise<DryRun> => {
    if (!isThere) return {findings: [], object: await resource.create(object, options)};
    try {
      return {findings: [], object: await resource.patch(name, 'apply', object, options)};
    } catch (error) {
      const conflicts = isConflict(error) && error instanceof StatusError ? conflictFindings(manifest, error) : undefined;
      if (!conflicts) throw error;
      return {findings: conflicts, object: await resource.patch(name, 'apply', object, {...options, force: true})};
    }
  };
  const run = await send().catch((error: unknown): DryRun => {
    if (!(error instanceof StatusError) || isOfServer(error)) throw error;
    return {findings: refusalFindings(manifest, error)};
  });
  return {...run, findings: [...run.findings, ...[...warnings].map(text => warningFinding(manifest, text))]};
};

/** Whether an error is about the server and not about the object. */
const isOfServer = ({code}: StatusError): boolean => code === 401 || code === 429 || code === 503 || code === 504;

const conflictFindings = (manifest: Manifest, {status}: StatusError): Finding[] | undefined => {
  const causes = status.details?.causes?.filter(({reason}) => reason === 'FieldManagerConflict') ?? [];
  if (causes.length === 0) return undefined;
  return causes
    .filter(({message = ''}) => !ownManagers.some(manager => message.includes(manager)))
    .map(({message = '', field = ''}) => {
      const path = field.startsWith('.') ? field.slice(1) : field;
      return manifest.finding('conflict', `${path}: ${message}; a server-side apply needs --force-conflicts to take it over`, {
        field: path,
      });
    });
};

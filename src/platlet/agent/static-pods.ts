// The sources of static pods named by the configuration.

import type {Settings} from '#src/platlet/config/fields.js';
import {fileSource} from '#src/platlet/sources/file-source.js';
import type {PodSource} from '#src/platlet/sources/source.js';
import {urlSource} from '#src/platlet/sources/url-source.js';
import type {AgentParts} from './parts.js';

/** Returns the sources of static pods. */
export const staticPodSources = (parts: AgentParts, signal: AbortSignal): readonly PodSource[] => {
  const {settings, identity, naming, files, clock, log, network, gate, validatePod: validate} = parts;
  const {staticPodPath: path, staticPodURL: url} = settings;
  const pods = {
    naming,
    node: identity.nodeName,
    refusesReferences: gate('PreventStaticPodAPIReferences'),
    ...(validate ? {validate} : {}),
  };
  const {fileCheckFrequency, httpCheckFrequency} = settings;
  return [
    ...(path ? [fileSource({files, path, checkMs: fileCheckFrequency, clock, log, signal, settings: pods})] : []),
    ...(url
      ? [urlSource({network, url, headers: headersOf(settings), checkMs: httpCheckFrequency, clock, log, signal, settings: pods})]
      : []),
  ];
};

/** Headers with several values are joined with commas. */
const headersOf = ({staticPodURLHeader}: Settings): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(staticPodURLHeader).map(([name, values]) => [name, values.join(', ')]));

import type {Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Deprecation} from './definition.js';

/** Returns the warning of every request for a deprecated version. */
export const deprecationWarning = ({group, version, kind}: Kind, {since, until, successor}: Deprecation, naming: Naming): string => {
  const removal = until ? `, unavailable in ${until}+` : '';
  const replacement = successor ? `; use ${naming.apiVersion(successor.group, successor.version)} ${successor.kind}` : '';
  return `${naming.apiVersion(group, version)} ${kind} is deprecated in ${since}+${removal}${replacement}`;
};

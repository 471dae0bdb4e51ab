import {forbidden, type StatusError} from '#src/api/status.js';
import type {Attributes} from '#src/api/authorization.js';

const quoted = JSON.stringify;

const entities: Readonly<Record<string, string>> = {'&': '&amp;', '<': '&lt;', '>': '&gt;'};

/** Without anything that a browser could take for HTML. */
const safe = (text: string): string => text.replace(/[&<>]/g, letter => entities[letter]!);

/** The 403 of a request that no authorizer allowed, worded as clients expect. */
export const denial = ({user, verb, resource: target, path}: Attributes, reason?: string): StatusError => {
  const because = reason ? `: ${reason}` : '';
  const subject = `User ${quoted(user.name)}`;
  if (!target) return forbidden({group: '', resource: ''}, '', `${safe(`${subject} cannot ${verb} path ${quoted(path)}`)}${because}`);
  const {group, resource, subresource, namespace, name} = target;
  const full = subresource ? `${resource}/${subresource}` : resource;
  const where = namespace ? `in the namespace ${quoted(namespace)}` : 'at the cluster scope';
  return forbidden(
    {group, resource},
    name,
    `${safe(`${subject} cannot ${verb} resource ${quoted(full)} in API group ${quoted(group)} ${where}`)}${because}`,
  );
};

import {pathSegmentProblems} from '#src/api/names.js';
import type {StatusCause} from '#src/api/status.js';
import {forbidden, type StatusError} from '#src/api/status.js';
import type {AdmissionAttributes} from './admission.js';

/**
 * The 403 of a plugin. The name is the URL's or the object's, otherwise its generateName or `Unknown`, as for objects
 * of a collection.
 */
export const refuse = (
  {group, resource, name, object, ofCollection}: AdmissionAttributes,
  why: string,
  causes?: StatusCause[],
): StatusError =>
  forbidden(
    {group, resource},
    (ofCollection ? '' : name) || object?.metadata?.name || object?.metadata?.generateName || 'Unknown',
    why,
    causes,
  );

/** Why no object can have a name; undefined for a valid one. */
export const invalidName = (name: string): string | undefined => {
  if (name === '') return 'resource name may not be empty';
  const problems = pathSegmentProblems(name);
  return problems.length > 0 ? `invalid resource name ${JSON.stringify(name)}: [${problems.join(' ')}]` : undefined;
};

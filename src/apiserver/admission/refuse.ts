import type {StatusCause} from '#src/api/status.js';
import {forbidden, type StatusError} from '#src/api/status.js';
import type {AdmissionAttributes} from './admission.js';

/** The 403 of a plugin. The name is the URL's or the object's, else its generateName, else `Unknown`. */
export const refuse = ({group, resource, name, object}: AdmissionAttributes, why: string, causes?: StatusCause[]): StatusError =>
  forbidden({group, resource}, name || object?.metadata?.name || object?.metadata?.generateName || 'Unknown', why, causes);

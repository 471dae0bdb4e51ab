import type {KubeObject} from '#src/api/types.js';
import {words} from '#test/resources/environment.js';

export const aConfigMap = (name: string, more: KubeObject['metadata'] & {data?: Record<string, string>} = {}) => {
  const {data = {}, ...metadata} = more;
  return {metadata: {name, namespace: 'default', ...metadata}, data};
};
export const api = (version: string) => words.apiVersion('admission', version);

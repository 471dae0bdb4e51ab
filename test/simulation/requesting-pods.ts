import type {BoundPod} from './environment.js';

export function asking(requests: Record<string, string>): BoundPod {
  return {containers: [{name: 'app', image: 'nginx', resources: {requests}}]};
}

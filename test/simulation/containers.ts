import {run, type BoundPod, type NodesPlane} from './environment.js';

/** The text of a log as a client in the plane's own process reads it. */
export const logOf = (plane: NodesPlane, query: Record<string, string> = {}, name = 'pod'): Promise<unknown> =>
  plane.client().request('GET', `/api/v1/namespaces/default/pods/${name}/log`, {query});

export const after = async (plane: NodesPlane, pod: BoundPod, ms: number): Promise<void> => {
  await run(plane, pod);
  await plane.clock.advance(ms);
};

export const agentOf = ({simulation}: NodesPlane) => simulation!.nodeAt('plat-node-0')!.agent!;
export const app = {namespace: 'default', pod: 'pod', container: 'app'};

export const behavior = `{
  files: {/etc/motd: "hello from $(POD_NAME)\\n"},
  exec: [
    {command: ["psql *", status], stdout: "1 row\\n", stderr: "slow\\n", exitCode: 3},
    {command: tee, echo: true},
  ],
  ports: {80: {http: {status: 201, body: "$(POD_NAME)", type: text/x}}, 7: echo, 81: http-echo, 22: refuse, 13: {reply: noon}},
}`;

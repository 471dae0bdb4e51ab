/** The subject of the agent of a node. */
export const agentSubject = 'agent';

/** The rows of the agent, in the order of their table. The one of memory has a row for each number of pods. */
export const agentKeys = ['agent-start', 'agent-pod', 'agent-pods', 'agent-memory', 'agent-idle', 'agent-exec', 'agent-logs'] as const;

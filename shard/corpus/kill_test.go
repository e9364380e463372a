package corpus

const childEnv = "ARBORIST_CORPUS_CHILD"

func child(string) int { return 1 }

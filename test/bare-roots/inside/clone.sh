# The repository as it is committed.
git clone --quiet /mnt/repository.bundle "$HOME/model-gateway" && echo ok
